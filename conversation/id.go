package conversation

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"time"
)

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckID keeps IDs of conversations and threads to what can be typed, listed and put into a file name. Its error is [ErrInvalid].
func CheckID(id string) error {
	if !idPattern.MatchString(id) {
		return fmt.Errorf("%w: ID %q: use 1 to 64 letters, digits, dots, dashes and underscores, the first a letter or digit", ErrInvalid, clip(id))
	}
	return nil
}

// makeID makes an ID such as c-20060102-150405-1a2b, with the time in UTC.
func makeID(now time.Time, suffix string) string {
	return "c-" + now.UTC().Format("20060102-150405") + "-" + suffix
}

// randomSuffix returns 4 hexadecimal digits.
func randomSuffix() string {
	var b [2]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
