// Package benchmark holds suites of tasks for the agent and judges what it answers.
//
// A suite is a JSON file under workloads/: tasks as users put them, and what a right answer holds. The judge looks at the
// report of a run only; it asks no model.
package benchmark
