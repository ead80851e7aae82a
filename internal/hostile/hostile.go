// Package hostile tells what in text from outside isn't what it seems: bytes that no text has, and characters that act without
// being seen. It decides nothing about them.
package hostile

import "unicode/utf8"

// IsHidden tells the characters that act without being seen: C1 controls, direction marks and overrides, the byte order
// mark, interlinear annotations, and tags. Joiners stay, because scripts and emoji need them.
func IsHidden(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f,
		r == 0x061c, r == 0x200e, r == 0x200f,
		r >= 0x202a && r <= 0x202e,
		r >= 0x2060 && r <= 0x206f,
		r == 0xfeff,
		r >= 0xfff9 && r <= 0xfffb,
		r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// OddBytes counts the control characters that text does not use, and the bytes that are not UTF-8. A character cut off
// at the end is not odd.
func OddBytes(head []byte) (controls, invalid int) {
	for i := 0; i < len(head); {
		c := head[i]
		if c < utf8.RuneSelf {
			if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\b' && c != 0x1b && c != 0x07 || c == 0x7f {
				controls++
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && size == 1 {
			if len(head)-i < utf8.UTFMax && !utf8.FullRune(head[i:]) {
				break
			}
			invalid++
		}
		i += size
	}
	return controls, invalid
}
