// Package gbnf reads grammars in llama.cpp's notation and tells, after any start of a text, how it must go on.
//
// llama.cpp itself checks whether a token fits a grammar. This package answers what it cannot be asked: which bytes come
// next whatever a model says, so that they need not be sampled. The two follow the same rules. Where this package cannot
// say, it says that nothing is forced, which is always right.
package gbnf
