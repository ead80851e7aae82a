// Package artifacts keeps large tool results outside the prompt: their bytes in files named by their SHA-256, what is known of
// them in a SQLite file, and in the prompt a [Descriptor] with a reference, from which a model can search and read the rest.
//
// Content is stored once, however often and by whomever it is put. Each artifact has one owner, a conversation or a thread. To
// every other owner its reference is as unknown as one that was never given.
//
// Content is untrusted text or bytes. It is returned exactly as it was put, or not at all: what was changed on disk is a
// [*DamagedError]. This package decides nothing about which results are large, and calls no model.
package artifacts
