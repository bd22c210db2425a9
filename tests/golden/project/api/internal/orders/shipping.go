// Package orders ships what was paid for.
package orders

import "errors"

// ErrTooHeavy says that a parcel must go by freight.
var ErrTooHeavy = errors.New("parcel is too heavy")

const maxParcelGrams = 30000

// Parcel is a box with a label.
type Parcel struct {
	OrderID        string
	Grams          int
	TrackingNumber string
}

// PrintLabel gives the parcel its tracking number.
func (p *Parcel) PrintLabel(next func() string) error {
	if p.Grams > maxParcelGrams {
		return ErrTooHeavy
	}
	p.TrackingNumber = next()
	return nil
}

// GroupByWarehouse sorts orders to the warehouse nearest to the customer.
func GroupByWarehouse(orders map[string]string) map[string][]string {
	grouped := map[string][]string{}
	for order, warehouse := range orders {
		grouped[warehouse] = append(grouped[warehouse], order)
	}
	return grouped
}
