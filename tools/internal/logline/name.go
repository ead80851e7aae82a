package logline

import "unicode/utf8"

// maxNameBytes bounds a name: what is longer is an identifier that occurs once.
const maxNameBytes = 24

// Names calls yield for each name with a number in a message, such as a host, a device or an error code: web-3, B-07, E2041, ORA-00600. A
// name begins with a letter of ASCII and has at least one digit; what masks hide of it tells one thing from another. Times, sizes, versions,
// paths, hexadecimal numbers and keys of fields are no names.
func Names(message []byte, yield func(name []byte)) {
	for i := 0; i < len(message); {
		c := message[i]
		if !isASCIIWord(c) {
			if c == '/' || c == '\\' || c == '~' { // a path, up to its end
				for i < len(message) && isPathByte(message[i]) {
					i++
				}
				continue
			}
			i++
			continue
		}
		end, digits := i, 0
		for end < len(message) && (isASCIIWord(message[end]) || message[end] == '-' && end+1 < len(message) && isASCIIWord(message[end+1])) {
			if isDigit(message[end]) {
				digits++
			}
			end++
		}
		word := message[i:end]
		i = end
		if end < len(message) && (message[end] == '=' || message[end] == '/' || message[end] == '\\' || message[end] == '.' && end+1 < len(message) && isWord(message[end+1])) {
			for i < len(message) && message[i] != ' ' && message[i] != '=' { // a key, a path, a version or a host's name
				i++
			}
			continue
		}
		if digits > 0 && isLetter(c) && len(word) <= maxNameBytes && !isHexWord(word) && !(word[0] == 'v' && digits == len(word)-1) {
			yield(word)
		}
	}
}

func isASCIIWord(c byte) bool { return c < utf8.RuneSelf && isWord(c) }
