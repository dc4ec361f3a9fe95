// The session that every agent goes through: writing and editing a file, a long turn with thinking, an image, a
// compaction, and a turn after it. The provider's responses are scripted, so only the gateway can make two runs
// differ.
import { join } from 'node:path'

const LONG = Array.from({ length: 2000 }, (_, i) => `Consideration ${i}.`).join(' ')
export const SUMMARY = 'The notes have three in the second line.'
const usage = (input, more) => ({ input, output: 20, ...more })

/** The turns of a session: the person's prompt, and the provider's responses, step by step. */
export function session(row, work, calls = row.calls) {
  const notes = join(work, 'notes.txt')
  const { write, edit, run } = calls
  return [
    {
      prompt: 'First, write the notes.',
      steps: [
        { text: 'I write the file.', calls: [write(notes, 'one\ntwo\n')], usage: usage(5000, { written: 4000 }) },
        { text: 'The notes are written.', usage: usage(5200, { cached: 4000, written: 1000 }) },
      ],
    },
    {
      prompt: 'Second, edit the notes.',
      steps: [
        { calls: [run('cat notes.txt && touch seen')], usage: usage(5300, { cached: 5000 }) },
        {
          thinking: 'Only the second line changes.',
          calls: [edit(notes, 'two', 'three')],
          usage: usage(5400, { cached: 5000 }),
        },
        { text: 'The notes are edited.', usage: usage(5500, { cached: 5000 }) },
      ],
    },
    {
      prompt: 'Third, consider it at length.',
      steps: [{ thinking: LONG, text: `Considered. ${LONG}`, usage: usage(5600) }],
    },
    {
      prompt: 'Fourth, look at the image.',
      image: true,
      steps: [{ text: 'A red dot.', usage: usage(row.compactsAt ?? 9000) }],
    },
    {
      prompt: row.compactCommand ?? 'Fifth, continue.',
      steps: [{ text: 'Continued.', usage: usage(5700) }],
    },
    {
      prompt: 'Last, finish.',
      steps: [
        { calls: [run('wc -l notes.txt > count.txt')], usage: usage(3000) },
        { text: 'All is done.', usage: usage(3100) },
      ],
    },
  ]
}

/** The script for the provider: the turns, and the summary, for which each agent asks in its own words. */
export function script(turns, { asksForSummary }) {
  const rules = turns.map(({ prompt, steps }) => ({ user: prompt, steps }))
  if (asksForSummary === undefined) return rules
  const steps = [{ text: `<summary>${SUMMARY}</summary>`, usage: usage(5800) }]
  return [...rules, { user: asksForSummary, steps }]
}
