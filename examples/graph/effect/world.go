package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// world is what the program acts on: a bank and an outbox, each a file with a line per action.
type world struct {
	dir   string
	crash string // effect to die after
	out   io.Writer
}

// bank charges an order. A request that it knows is answered as it was the first time.
func (w world) bank(request, order string) (receipt string, err error) {
	path := filepath.Join(w.dir, "bank.txt")
	known, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for line := range strings.Lines(string(known)) {
		if key, receipt, ok := strings.Cut(strings.TrimSpace(line), " "); ok && key == request {
			fmt.Fprintln(w.out, "Bank: this request is known; nothing is charged again.")
			return receipt, nil
		}
	}
	receipt = fmt.Sprintf("receipt %d for order %s", strings.Count(string(known), "\n")+1, order)
	if err := appendLine(path, request+" "+receipt); err != nil {
		return "", err
	}
	fmt.Fprintln(w.out, "Bank: charged order", order)
	w.dieAfter("charge")
	return receipt, nil
}

// outbox sends a mail.
func (w world) outbox(order, receipt string) (id string, err error) {
	if err := appendLine(filepath.Join(w.dir, "outbox.txt"), "To the customer of order "+order+": "+receipt); err != nil {
		return "", err
	}
	fmt.Fprintln(w.out, "Outbox: mailed", receipt)
	w.dieAfter("mail")
	return "mail for order " + order, nil
}

// dieAfter ends the process as a power failure would, without a chance to tidy up.
func (w world) dieAfter(effect string) {
	if w.crash == effect {
		fmt.Fprintf(w.out, "Crash! The %s has happened, and nobody has noted it.\n", effect)
		os.Exit(3)
	}
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}
