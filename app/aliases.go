package app

import "github.com/llama-agent/llama-agent/agent"

// These are what interfaces need of package agent, so that they import this package only.
type ( //nolint:revive // package agent documents them
	Report     = agent.Report
	Failure    = agent.Failure
	Status     = agent.Status
	Step       = agent.Step
	ThreadInfo = agent.ThreadInfo
	Boundary   = agent.Boundary

	Event         = agent.Event
	TaskStarted   = agent.TaskStarted
	NodeStarted   = agent.NodeStarted
	PlanMade      = agent.PlanMade
	StepStarted   = agent.StepStarted
	CallStarted   = agent.CallStarted
	CallFinished  = agent.CallFinished
	CallError     = agent.CallError
	ModelReplied  = agent.ModelReplied
	AnswerStarted = agent.AnswerStarted
	AnswerDelta   = agent.AnswerDelta
	Noted         = agent.Noted
)

// Values of those types.
const (
	NoTool             = agent.NoTool
	StatusDone         = agent.StatusDone
	StatusFailed       = agent.StatusFailed
	StatusInterrupted  = agent.StatusInterrupted
	KindModel          = agent.KindModel
	KindInternal       = agent.KindInternal
	KindOutcomeUnknown = agent.KindOutcomeUnknown
)
