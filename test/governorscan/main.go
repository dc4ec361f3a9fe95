// Command governorscan prints the Governor's findings in each line of standard input as a JSON array per line:
// [{"rule","category","severity","start","end"}]. Tests in other languages use it to measure the detectors.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	"github.com/postern-ai/postern/core/governor"
)

type finding struct {
	Rule     string `json:"rule"`
	Category string `json:"category"`
	Severity string `json:"severity"`
	Start    int    `json:"start"`
	End      int    `json:"end"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	rules := governor.AllRules()
	for in.Scan() {
		all := []finding{}
		for _, f := range governor.Scan(in.Bytes(), rules, nil) {
			r := governor.Table()[f.Rule]
			all = append(all, finding{r.Name, r.Category.String(), r.Severity.String(), f.Start, f.End})
		}
		if err := out.Encode(all); err != nil {
			log.Fatal(err)
		}
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
}
