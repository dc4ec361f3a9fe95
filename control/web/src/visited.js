// The last visited project, for the project switcher.
import { useEffect, useState } from 'preact/hooks'

let visited = { id: '', name: '' }
const listeners = new Set()

/** @param {{id: string, name: string}} project */
export function visit({ id, name }) {
  visited = { id, name }
  for (const listener of listeners) listener(visited)
}

export function useVisited() {
  const [project, setProject] = useState(visited)
  useEffect(() => {
    listeners.add(setProject)
    setProject(visited)
    return () => listeners.delete(setProject)
  }, [])
  return project
}
