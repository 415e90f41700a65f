package cli

import (
	"context"
	"path/filepath"
	"time"

	"sunaba/internal/audit"
	"sunaba/policy"
)

// ModelProbe asks whether the configured model can be used. For apply and show
// its error is a warning, never a reason to stop (C-92).
type ModelProbe interface {
	Probe(ctx context.Context) error
}

// PlatformState tells, line by line in the catalogue's language, what this
// machine can enforce; ok is false when the lines say why the server would not
// start here.
type PlatformState interface {
	Lines(ctx context.Context) (lines []string, ok bool)
}

// ApplyRecorder writes the audit record of one apply. When it fails, nothing
// is stored.
type ApplyRecorder interface {
	Record(event string, fields map[string]string) error
}

// outside is what apply and show need besides the configuration. A nil Model
// or Platform is not asked.
type outside struct {
	Model    ModelProbe
	Platform PlatformState
	Recorder ApplyRecorder
}

// probeTimeout bounds what apply and show wait for Ollama.
const probeTimeout = 3 * time.Second

// auditFile records into a new audit file below the state directory.
type auditFile struct {
	stateDir string
	secrets  []string
}

func (a auditFile) Record(event string, fields map[string]string) error {
	if _, err := policy.MakeStateDir(); err != nil {
		return err
	}
	log, err := audit.Open(filepath.Join(a.stateDir, "log"), time.Now(), audit.NewRedactor(a.secrets...))
	if err != nil {
		return err
	}
	err = log.Append(audit.Record{
		Event: event, Decision: fields["decision"], Path: fields["path"],
		Digest: fields["digest"], Channel: fields["channel"],
	})
	if closeErr := log.Close(); err == nil { // Close makes the record durable
		err = closeErr
	}
	return err
}
