// Package kvstore keeps parts of a KV cache in files, so that another process does not compute them again.
//
// A chunk is the state of a run of tokens. Its key is a hash over all that the state depends on: what computed it, and every
// token up to its end. The package gives back the bytes that were put in or nothing; what they mean is the caller's
// matter, and so is the choice of what is worth keeping.
//
// A folder may be used by several processes at once. It holds prompts, so it is readable for its owner only.
package kvstore
