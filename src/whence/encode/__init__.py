"""Where does it lie in meaning-space? Encoders turn units and questions into vectors."""
