import { Link } from '@tanstack/react-router'
import { Box } from 'lucide-react'
import { useRights } from '../../shell/rights.ts'
import { buttonStyle } from '../../ui/button.tsx'

/** Explains the first minute of a deployment without boxes, with a button to create one. */
export function FirstSteps() {
  const { canWrite } = useRights()
  return (
    <section
      aria-label="First steps"
      className="flex flex-col items-center gap-4 rounded-lg border border-dashed border-strong p-8 text-center"
    >
      <Box aria-hidden className="size-8 text-muted" />
      <h2 className="text-lg font-semibold">Create your first box</h2>
      <ol className="grid gap-3 text-left sm:grid-cols-3">
        {STEPS.map(([title, words], index) => (
          <li key={title} className="flex gap-3 rounded-md bg-raised p-3">
            <span aria-hidden className="font-semibold text-accent tabular-nums">
              {index + 1}
            </span>
            <span>
              <span className="block font-medium">{title}</span>
              <span className="text-muted">{words}</span>
            </span>
          </li>
        ))}
      </ol>
      {canWrite ? (
        <Link to="/boxes" search={{ create: 'box' }} className={buttonStyle('primary')}>
          Create box
        </Link>
      ) : (
        <p className="text-muted">To create one, ask for a token with write permission.</p>
      )}
      <p className="text-muted">
        Or run <code>boxyard create web</code>.
      </p>
    </section>
  )
}

const STEPS = [
  ['Create a box', 'A complete Linux that starts in milliseconds.'],
  ['Work in its terminal', 'Its shell keeps running when you leave.'],
  ['Open its URL', 'Anything that listens on port 8080 is at its URL.'],
] as const
