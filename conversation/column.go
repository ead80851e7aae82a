package conversation

import (
	"database/sql"
	"fmt"
	"time"
)

// scanner is a row.
type scanner interface{ Scan(...any) error }

// text, number and data read a column that must have their type. The tables make sure of that, but not in a damaged file.
type text struct{ to *string }

func (c text) Scan(value any) error {
	s, ok := value.(string)
	if !ok {
		return fmt.Errorf("a text is a %T: %w", value, ErrCorrupt)
	}
	*c.to = s
	return nil
}

type number struct{ to *int64 }

func (c number) Scan(value any) error {
	n, ok := value.(int64)
	if !ok {
		return fmt.Errorf("a number is a %T: %w", value, ErrCorrupt)
	}
	*c.to = n
	return nil
}

type data struct{ to *[]byte }

func (c data) Scan(value any) error {
	b, ok := value.([]byte)
	if !ok && value != nil {
		return fmt.Errorf("data are a %T: %w", value, ErrCorrupt)
	}
	*c.to = append([]byte(nil), b...)
	return nil
}

// instant reads a time, or none.
type instant struct{ to *time.Time }

func (c instant) Scan(value any) error {
	if value == nil {
		*c.to = time.Time{}
		return nil
	}
	var micro int64
	if err := (number{&micro}).Scan(value); err != nil {
		return err
	}
	*c.to = time.UnixMicro(micro).UTC()
	return nil
}

var (
	_ sql.Scanner = text{}
	_ sql.Scanner = number{}
	_ sql.Scanner = data{}
	_ sql.Scanner = instant{}
)
