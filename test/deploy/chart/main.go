// Renders a Helm chart as `helm template` does, for the functions that ours uses: Helm itself is in no package of Debian.
// Standard input: {"chart": folder, "context": {"Release": …, "Values": …, "Chart": …}}; standard output: YAML.
package main

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"text/template"

	"github.com/Masterminds/sprig"
)

type files string

// Get answers a file of the chart, and nothing for one that is not there, as Helm does.
func (folder files) Get(name string) string {
	content, _ := os.ReadFile(filepath.Join(string(folder), name))
	return string(content)
}

func main() {
	var input struct {
		Chart   string
		Context map[string]interface{}
	}
	check(json.NewDecoder(os.Stdin).Decode(&input))
	input.Context["Files"] = files(input.Chart)

	all := template.New("chart").Option("missingkey=error")
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, context interface{}) (string, error) {
		var text bytes.Buffer
		err := all.ExecuteTemplate(&text, name, context)
		return text.String(), err
	}
	all.Funcs(functions)
	paths, err := filepath.Glob(filepath.Join(input.Chart, "templates", "*"))
	check(err)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		check(err)
		_, err = all.New(filepath.Base(path)).Parse(string(content))
		check(err)
	}
	for _, path := range paths {
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		os.Stdout.WriteString("---\n")
		check(all.ExecuteTemplate(os.Stdout, filepath.Base(path), input.Context))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
