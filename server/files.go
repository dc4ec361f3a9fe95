package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
)

// Modes of the files and folders that the server creates. Only the user that runs the server has access to them.
const (
	privateFile   = 0o600
	privateFolder = 0o700
)

// openFolder opens a folder. If the folder does not exist, it creates it. File names relative to the result cannot
// lead outside the folder.
func openFolder(folder string) (*os.Root, error) {
	if err := os.MkdirAll(folder, privateFolder); err != nil {
		return nil, err
	}
	return os.OpenRoot(folder)
}

// writeAtomic replaces a file. After a crash, the file has either its old or its new content.
func writeAtomic(root *os.Root, name string, data []byte) (err error) {
	folder := path.Dir(name)
	if err := root.MkdirAll(folder, privateFolder); err != nil {
		return err
	}
	fresh := path.Join(folder, ".new-"+rand.Text())
	file, err := root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateFile)
	if err != nil {
		return err
	}
	if _, err = file.Write(data); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = root.Rename(fresh, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(fresh))
	}
	return syncFolder(root, folder)
}

func syncFolder(root *os.Root, folder string) error {
	dir, err := root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// exportsTo returns control.Config.Exports for a folder, or nil if folder is "".
func exportsTo(folder string) (func(context.Context, string, []byte) error, error) {
	if folder == "" {
		return nil, nil
	}
	root, err := openFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("POSTERN_EXPORTS: %w", err)
	}
	return func(_ context.Context, name string, body []byte) error { return writeAtomic(root, name, body) }, nil
}
