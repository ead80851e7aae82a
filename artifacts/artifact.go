package artifacts

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// An Artifact is what is known of a stored content. It is a value; nothing in it is shared with the store.
type Artifact struct {
	// Ref is the reference, such as artifact://k3v9x2ab. The same content of the same source has the same reference with every
	// owner, today and tomorrow.
	Ref   string `json:"artifact_id"`
	Owner string `json:"owner"`

	Tool        string `json:"tool"`
	Name        string `json:"name,omitempty"`      // what it is about, such as a path; one line
	Arguments   string `json:"arguments,omitempty"` // SHA-256 of the call's arguments, in hexadecimal digits
	ContentType string `json:"content_type"`        // a media type
	Facts       []Fact `json:"facts,omitempty"`

	SHA256   string   `json:"sha256"` // of the content, in hexadecimal digits
	Bytes    int64    `json:"bytes"`
	Lines    int      `json:"lines"` // a last line without a line end counts
	Encoding Encoding `json:"encoding"`

	Created time.Time `json:"created"` // when this owner first put it
	Used    time.Time `json:"used"`    // when it was last put or read; to the minute
}

// Summary returns the facts as lines "name: value" that have at most limit characters together. A fact that does not fit is left
// out whole.
func (a Artifact) Summary(limit int) string { return summary(a.Facts, limit) }

// A Source says where content comes from. Everything in it is bounded and made safe to show before it is stored.
type Source struct {
	Tool        string
	Name        string          // what it is about, such as a path
	Arguments   json.RawMessage // of the call, in canonical form; only their SHA-256 is kept
	ContentType string          // a media type; empty: judged by the content
	Facts       []Fact          // in the order in which they are shown; see [FactsOf]
}

// Bounds of the texts of a source, in bytes.
const (
	maxToolBytes = 64
	maxTypeBytes = 60
	maxNameBytes = 300
)

// newArtifact describes content. The content type is the only thing that depends on more than one field.
func newArtifact(owner string, src Source, content []byte) Artifact {
	sum := sha256.Sum256(content)
	a := Artifact{
		Owner: owner, Tool: oneLine(src.Tool, maxToolBytes), Name: oneLine(src.Name, maxNameBytes), Facts: cleanFacts(src.Facts),
		SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content)), Lines: countLines(content), Encoding: encodingOf(content),
	}
	if a.ContentType = oneLine(src.ContentType, maxTypeBytes); a.ContentType == "" {
		a.ContentType = a.Encoding.mediaType()
	}
	if len(src.Arguments) > 0 {
		sum := sha256.Sum256(src.Arguments)
		a.Arguments = hex.EncodeToString(sum[:])
	}
	return a
}

// sourceSum identifies an artifact within its owner: a SHA-256 of all that its descriptor shows and of the call it came from.
func (a Artifact) sourceSum() (contentSum, error) {
	facts, err := json.Marshal(a.Facts)
	if err != nil {
		return contentSum{}, fmt.Errorf("encoding facts: %w", err)
	}
	h := sha256.New()
	for _, field := range []string{a.SHA256, a.Tool, a.Name, a.Arguments, a.ContentType, string(facts)} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(field)))
		h.Write(size[:])
		h.Write([]byte(field))
	}
	return contentSum(h.Sum(nil)), nil
}
