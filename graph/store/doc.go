// Package store keeps JSON documents for longer than a thread lasts: what an agent knows of its users, notes that several
// graphs share, results worth caching.
//
// An item has a namespace, which is a path such as {"users", "42", "memories"}, a key, and a value, which is a JSON object. A
// [Store] reads one item, writes several at once, searches below a namespace, and lists namespaces:
//
//	err := st.Write(ctx, store.Put(ns, "food", map[string]any{"text": "likes pizza"}), store.Delete(ns, "old"))
//	item, err := st.Get(ctx, ns, "food")
//	items, err := st.Search(ctx, store.Query{Namespace: ns, Text: "pizza", Limit: 5})
//
// [Typed] is the same for the values of one Go type.
//
// Searches select by the fields of values ([Eq], [Gt] and their like), by text, or by both. Search by text ranks with BM25
// and needs no model; it works for all scripts, including those without spaces between words. It doesn't know what words
// mean: "automobile" doesn't find "car".
//
// An item can expire ([TTL], [Sliding]); the store's clock judges. It isn't seen from that moment on, and is removed by a
// later Write or by [Sweeper].
//
// [Memory] is the store for tests and short-lived programs, package sqlite the one for a single machine. A store of your own
// runs the suite in package storetest.
package store
