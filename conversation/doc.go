// Package conversation keeps conversations and their turns in a SQLite file: what the user said, what came of it, in which thread,
// and which conversation was the last.
//
// A conversation has at most one running turn. Who runs it is an opaque text; whether that process still exists, and what becomes
// of its turn, is up to the caller. This package runs nothing, and knows neither threads nor what a transcript holds.
//
// Texts are stored whole, byte for byte, except that each run of bytes that is not valid UTF-8 becomes one U+FFFD. Zero bytes stay.
package conversation
