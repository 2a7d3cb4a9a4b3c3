import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { FilterInput } from '../ui/field.tsx'

/** Index of the marked match, from 0, and the number of matches. -1 if there are very many. */
export interface Found {
  resultIndex: number
  resultCount: number
}

interface TerminalSearchProps {
  found: Found | null
  find(text: string, isBack: boolean): void
  close(): void
}

/** Finds text in a terminal. */
export function TerminalSearch({ found, find, close }: TerminalSearchProps) {
  const [text, setText] = useState('')
  return (
    <search className="flex gap-2 border-b border-line bg-panel p-2">
      <FilterInput
        label="Find in the terminal"
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          find(event.target.value, false)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') close()
          if (event.key === 'Enter') find(text, event.shiftKey)
        }}
      />
      <span role="status" className="min-w-20 self-center text-muted tabular-nums">
        {text === '' || found === null ? '' : foundWords(found)}
      </span>
      <Button onClick={() => find(text, true)}>Previous</Button>
      <Button onClick={() => find(text, false)}>Next</Button>
      <Button kind="quiet" onClick={close}>
        Close
      </Button>
    </search>
  )
}

function foundWords({ resultIndex, resultCount }: Found): string {
  if (resultCount === 0) return 'Not found'
  return resultIndex < 0 ? `${resultCount} or more` : `${resultIndex + 1} of ${resultCount}`
}
