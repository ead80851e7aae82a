// Package tui is the full-screen interface: a conversation that can be scrolled, searched and unfolded, an input of several lines, and
// what the agent does meanwhile.
//
// What is shown is a pure function of a State, which messages change: events of the agent, keys, results of commands. One goroutine owns
// the State; others only send messages. Drawing turns the State into a grid of cells, and a thin layer over tview and tcell copies that
// grid to the terminal. Policy of conversations and commands is in package app.
package tui
