"""All that is known of the engine, Milvus."""
