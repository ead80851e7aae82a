package logline

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// The placeholders of [Mask].
const (
	maskNumber = "<n>"
	maskHex    = "<hex>"
	maskUUID   = "<uuid>"
	maskIP     = "<ip>"
	maskTime   = "<time>"
	maskText   = "<text>"
	maskPath   = "<path>"
	maskURL    = "<url>"
	maskID     = "<id>"
)

// Mask appends a message to dst with its variable parts replaced, so that messages of one kind become equal: numbers,
// hexadecimal numbers, UUIDs, addresses, times, quoted text, paths, URLs and long identifiers. The value of code= stays:
// it tells kinds apart.
func Mask(dst, message []byte) []byte {
	for i := 0; i < len(message); {
		c := message[i]
		end, mask := 0, ""
		switch maskClass[c] {
		case maskClassWord:
			dst, i = maskWord(dst, message, i)
			continue
		case maskClassQuote:
			end, mask = quoteEnd(message, i), maskText
		case maskClassPath:
			end, mask = pathEnd(message, i), maskPath
		case maskClassColon:
			end, mask = ipv6End(message, i), maskIP
		case maskClassSign:
			if i+1 < len(message) && isDigit(message[i+1]) && (i == 0 || isGap(message[i-1])) {
				end = i + 1 // the number takes its sign along
			}
		}
		if end > 0 {
			dst, i = append(dst, mask...), end
			continue
		}
		dst = append(dst, c)
		i++
	}
	return dst
}

// The classes of bytes for Mask.
const (
	maskClassPlain = iota
	maskClassWord
	maskClassQuote
	maskClassPath // what a path begins with
	maskClassColon
	maskClassSign
)

var maskClass = func() (table [256]uint8) {
	for c := range table {
		if isWord(byte(c)) {
			table[c] = maskClassWord
		}
	}
	for chars, class := range map[string]uint8{"\"'`": maskClassQuote, `/~\.`: maskClassPath, ":": maskClassColon, "-+": maskClassSign} {
		for i := range len(chars) {
			table[chars[i]] = class
		}
	}
	return table
}()

// MaskRequest is Mask for the message of an [Access] line: method, path without its query and with numbers and UUIDs
// masked, and status. It appends like Mask when the message is no request.
func MaskRequest(dst, message []byte) []byte {
	request, status, ok := bytes.Cut(bytes.TrimPrefix(message, []byte{'"'}), []byte(`" `))
	method, path, both := bytes.Cut(request, []byte{' '})
	if !ok || !both || len(path) == 0 || path[0] != '/' {
		return Mask(dst, message)
	}
	path, _, _ = bytes.Cut(path, []byte{' '})
	path, _, _ = bytes.Cut(path, []byte{'?'})
	dst = append(append(dst, method...), ' ')
	for i := 0; i < len(path); {
		switch {
		case isHexDigit(path[i]) && isUUID(path[i:]):
			dst, i = append(dst, maskUUID...), i+uuidLength
		case isDigit(path[i]):
			dst, i = append(dst, maskNumber...), numberEnd(path, i)
		default:
			dst = append(dst, path[i])
			i++
		}
	}
	return append(append(dst, ' '), status...)
}

// isGap tells what a signed number or a path follows.
func isGap(c byte) bool {
	switch c {
	case ' ', '\t', '=', ':', ',', '(', '[', '{', '<', '|', ';':
		return true
	}
	return false
}

// maskWord masks the word at i, or what begins like one: an address, a URL, a number with a fraction.
func maskWord(dst, b []byte, i int) ([]byte, int) {
	end := i
	for end < len(b) && isWord(b[end]) && !isDigit(b[end]) {
		end++
	}
	if end == len(b) || !isWord(b[end]) { // no digits
		return maskLetters(dst, b, i, end)
	}
	if end, mask := literalEnd(b, i); end > 0 {
		return append(dst, mask...), end
	}
	digits := 0
	for end < len(b) && isWord(b[end]) {
		if isDigit(b[end]) {
			digits++
		}
		end++
	}
	switch word := b[i:end]; {
	case bytes.HasPrefix(b[end:], []byte("://")):
		return append(dst, maskURL...), urlEnd(b, end)
	case len(word) >= 20 && digits >= 2 && !slices.ContainsFunc(word, isBeyondASCII): // a sentence without blanks is no identifier
		return append(dst, maskID...), end
	case isHexWord(word):
		return append(dst, maskHex...), end
	}
	for j := i; j < end; {
		if !isDigit(b[j]) {
			dst = append(dst, b[j])
			j++
			continue
		}
		dst = append(dst, maskNumber...)
		if j = numberEnd(b, j); j >= end {
			return maskTail(dst, b, j)
		}
	}
	return dst, end
}

// maskLetters copies a word without digits, unless it is the beginning of something to mask.
func maskLetters(dst, b []byte, i, end int) ([]byte, int) {
	if end < len(b) {
		switch b[end] {
		case '=':
			if string(b[i:end]) == "code" && end+1 < len(b) && isWord(b[end+1]) && !isGluedWord(b, i) {
				last := end + 1
				for last < len(b) && !endsValue(b[last]) {
					last++
				}
				return append(dst, b[i:last]...), last
			}
		case ':':
			if bytes.HasPrefix(b[end:], []byte("://")) {
				return append(dst, maskURL...), urlEnd(b, end)
			}
			if last := ipv6End(b, i); last > 0 {
				return append(dst, maskIP...), last
			}
		case '-':
			if isUUID(b[i:]) {
				return append(dst, maskUUID...), i + uuidLength
			}
		}
	}
	return append(dst, b[i:end]...), end
}

// maskTail goes on behind a number whose fraction reached past its word: letters that follow are its unit.
func maskTail(dst, b []byte, i int) ([]byte, int) {
	for i < len(b) && isWord(b[i]) && !isDigit(b[i]) {
		dst = append(dst, b[i])
		i++
	}
	return dst, i
}

// isGluedWord tells that a word is only the end of a name.
func isGluedWord(b []byte, i int) bool { return i > 0 && (b[i-1] == '-' || b[i-1] == '.') }

// numberEnd returns the end of the digits at i, with fractions and groups of three.
func numberEnd(b []byte, i int) int {
	for {
		for i < len(b) && isDigit(b[i]) {
			i++
		}
		if i+1 < len(b) && (b[i] == '.' || b[i] == ',') && isDigit(b[i+1]) {
			i++
			continue
		}
		return i
	}
}

// literalEnd returns the end of the time, UUID, address or hexadecimal number at i with its placeholder, or 0.
func literalEnd(b []byte, i int) (int, string) {
	c := b[i]
	if !isHexDigit(c) {
		return 0, ""
	}
	if isDigit(c) {
		if s, ok := isoStamp(b, i); ok {
			return s.End, maskTime
		}
		if end := ipv4End(b, i); end > 0 {
			return end, maskIP
		}
		if c == '0' && i+2 < len(b) && b[i+1]|0x20 == 'x' && isHexDigit(b[i+2]) {
			end := i + 2
			for end < len(b) && isHexDigit(b[end]) {
				end++
			}
			if end == len(b) || !isWord(b[end]) {
				return end, maskHex
			}
		}
	}
	if isUUID(b[i:]) {
		return i + uuidLength, maskUUID
	}
	if end := ipv6End(b, i); end > 0 {
		return end, maskIP
	}
	return 0, ""
}

func isHexDigit(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isBeyondASCII(c byte) bool { return c >= utf8.RuneSelf }

// isHexWord takes eight or more hexadecimal digits of both kinds for a hash or an address.
func isHexWord(word []byte) bool {
	if len(word) < 8 {
		return false
	}
	letters := false
	for _, c := range word {
		if !isHexDigit(c) {
			return false
		}
		letters = letters || !isDigit(c)
	}
	return letters
}

const uuidLength = 36

func isUUID(b []byte) bool {
	if len(b) < uuidLength || len(b) > uuidLength && isWord(b[uuidLength]) {
		return false
	}
	for i, c := range b[:uuidLength] {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !isHexDigit(c) {
				return false
			}
		}
	}
	return true
}

// ipv4End returns the end of an address at i, with a port or prefix length, or 0.
func ipv4End(b []byte, i int) int {
	for part := range 4 {
		value, end := readNumber(b, i, 1, 3)
		if end == 0 || value > 255 || part < 3 && (end >= len(b) || b[end] != '.') {
			return 0
		}
		i = end + 1
	}
	end := i - 1
	if end < len(b) && isWord(b[end]) || end+1 < len(b) && b[end] == '.' && isDigit(b[end+1]) {
		return 0
	}
	if end < len(b) && (b[end] == ':' || b[end] == '/') {
		if _, port := readNumber(b, end+1, 1, 5); port > 0 && (port == len(b) || !isWord(b[port])) {
			return port
		}
	}
	return end
}

// ipv6End returns the end of an address of at least three colons, or two in a row, at i, or 0.
func ipv6End(b []byte, i int) int {
	const longest = 39
	if i > 0 && (isWord(b[i-1]) || b[i-1] == ':' || b[i-1] == '>') {
		return 0
	}
	colons, double, digits, digit, end := 0, false, 0, false, i
	for end < len(b) && end-i < longest {
		c := b[end]
		if c == ':' {
			if end > i && b[end-1] == ':' {
				if double {
					return 0
				}
				double = true
			}
			colons++
			digits = 0
		} else if isHexDigit(c) {
			digit = true
			if digits++; digits > 4 {
				return 0
			}
		} else {
			break
		}
		end++
	}
	if end < len(b) && isWord(b[end]) {
		return 0
	}
	if end > i && b[end-1] == ':' && !(double && end-i >= 2 && b[end-2] == ':') {
		end--
		colons--
	}
	if digit && (double && colons <= 7 || colons == 7) {
		return end
	}
	return 0
}

// quoteEnd returns the position behind the quote that closes the one at i, or 0. An apostrophe inside a word is none.
func quoteEnd(b []byte, i int) int {
	quote := b[i]
	if quote == '\'' && i > 0 && (isWord(b[i-1]) || b[i-1] == '>') {
		return 0
	}
	for j := i + 1; j < len(b); j++ {
		switch {
		case b[j] == '\\':
			j++
		case b[j] == quote && (quote != '\'' || j+1 == len(b) || !isWord(b[j+1]) && b[j+1] != '<'):
			return j + 1
		}
	}
	return 0
}

// pathEnd returns the end of the path that begins at i, or 0: /a, ~/a, ./a, ../a, \\host\a. It needs a gap in front.
func pathEnd(b []byte, i int) int {
	if i > 0 && !isGap(b[i-1]) {
		return 0
	}
	start := i
	for i < len(b) && (b[i] == '.' || b[i] == '~') {
		i++
	}
	if i-start > 2 || i+1 >= len(b) || b[i] != '/' && b[i] != '\\' || !isPathByte(b[i+1]) {
		return 0
	}
	for i < len(b) && isPathByte(b[i]) {
		i++
	}
	for i > start && (b[i-1] == '.' || b[i-1] == ':') {
		i--
	}
	if i < len(b) && b[i] == '?' { // the query of a request
		for i < len(b) && b[i] != ' ' && b[i] != '"' && b[i] != '\'' && b[i] != ')' && b[i] != '>' {
			i++
		}
	}
	return i
}

func isPathByte(c byte) bool {
	if isWord(c) {
		return true
	}
	switch c {
	case '/', '\\', '.', '-', '~', '%', '+', '@', ':', '$', '*':
		return true
	}
	return false
}

// urlEnd returns the end of the URL whose :// is at i.
func urlEnd(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', '"', '\'', '`', '<', '>', ')', ']', '}', ',', '|', '\\':
			return i
		}
		i++
	}
	return i
}

// masks are the placeholders of [Mask].
var masks = strings.NewReplacer(
	maskNumber, "\n", maskHex, "\n", maskUUID, "\n", maskIP, "\n", maskTime, "\n", maskText, "\n", maskPath, "\n", maskURL, "\n", maskID, "\n",
)

// LongestLiteral returns the longest part of a text between placeholders of [Mask], and whether it has any: what a search for a masked
// message can find.
func LongestLiteral(text string) (literal string, masked bool) {
	parts := strings.Split(masks.Replace(text), "\n")
	for _, part := range parts {
		if part = strings.TrimSpace(part); len(part) > len(literal) {
			literal = part
		}
	}
	return literal, len(parts) > 1
}
