// Package telemetry records what a run did: each model call, tool call and lifecycle event as a line of JSON, use of memory and of
// the KV cache as rows of CSV, and, where an endpoint is given, spans by OpenTelemetry.
//
// The files of a folder only grow. Any number of runs and processes may share one, at the same time: every line is one append to
// its file. A line says in task_id whose it is, and in monotonic_ns how many nanoseconds after the start of its recorder it was
// written, which no change of the wall clock disturbs.
//
// Recording never fails a run. A file that cannot be written, because its disk is full, its folder is gone or may not be written,
// is told once through [Options.Logger] and given up: later records for it are dropped, other files go on. Writing is synchronous
// and bounded: a record is at most [maxLine] bytes, written in one call, never synced to the disk and never tried again. A file
// whose write took longer than [maxWrite] is given up too. Until the system returns from that one call, the caller waits.
//
// Prompts, answers, arguments and results are no part of any record. Texts that are (names, kinds of errors) are cut and have what
// looks like a secret replaced; see [Redact].
package telemetry
