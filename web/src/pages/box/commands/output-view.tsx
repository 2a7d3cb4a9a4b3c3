import { useEffect, useRef, useState } from 'react'
import { saveBlob } from '../../../api/transfers.ts'
import { Problem } from '../../../ui/problem.tsx'
import { tellError } from '../../../ui/toasts.tsx'
import type { FollowedOutput } from './output-follower.ts'
import { withoutEscapes } from './output-log.ts'

/** All stored output, as a file. */
interface WholeOutput {
  fileName: string
  read(): Promise<Blob>
}

interface OutputViewProps {
  label: string
  output: FollowedOutput
  empty: string
  /** Absent if it is unavailable. */
  whole?: WholeOutput
}

/** Output of a command, and whether it is followed. */
export function OutputView({ label, output, empty, whole }: OutputViewProps) {
  return (
    <div className="flex flex-col gap-2">
      {output.isLost && (
        <p role="status" className="rounded-md bg-warn-soft px-3 py-2">
          Connection lost. Reconnecting…
        </p>
      )}
      {output.error !== null && <Problem error={output.error} />}
      <OutputBlocks label={label} log={output.log} empty={empty} whole={whole} />
    </div>
  )
}

/** The blocks, with a label beside stderr. Keeps the end in sight unless the user has scrolled away from it. */
function OutputBlocks({ label, log, empty, whole }: BlocksProps) {
  const place = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    if (place.current && isAtEnd.current) place.current.scrollTop = place.current.scrollHeight
  }, [log])
  return (
    <div
      ref={place}
      tabIndex={0}
      role="log"
      aria-label={label}
      className="max-h-[50vh] min-h-16 overflow-auto rounded-md border border-line bg-bg p-2 font-mono text-xs leading-5"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 24
      }}
    >
      {log.isCut && (
        <p className="text-muted">
          (Earlier output is not shown.{whole && <DownloadWhole label={label} whole={whole} />})
        </p>
      )}
      {log.blocks.length === 0 && <p className="text-muted">{empty}</p>}
      {log.blocks.map(({ id, stream, text }) =>
        stream === 'stdout' ? (
          <pre key={id} className="break-all whitespace-pre-wrap">
            {withoutEscapes(text)}
          </pre>
        ) : (
          <div key={id} className="flex gap-2 border-l-2 border-bad pl-2">
            <span className="shrink-0 text-bad select-none">stderr</span>
            <pre className="min-w-0 flex-1 break-all whitespace-pre-wrap">{withoutEscapes(text)}</pre>
          </div>
        ),
      )}
    </div>
  )
}

function DownloadWhole({ label, whole }: { label: string; whole: WholeOutput }) {
  const [isBusy, setBusy] = useState(false)
  const save = async (): Promise<void> => {
    setBusy(true)
    try {
      saveBlob(await whole.read(), whole.fileName)
    } catch (error) {
      tellError(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      {' '}
      <button
        type="button"
        className="underline"
        aria-label={`Download all of ${label}`}
        disabled={isBusy}
        onClick={() => void save()}
      >
        Download all
      </button>
    </>
  )
}

interface BlocksProps extends Pick<OutputViewProps, 'label' | 'empty'> {
  log: FollowedOutput['log']
  whole: WholeOutput | undefined
}
