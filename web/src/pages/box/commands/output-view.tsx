import { useEffect, useRef } from 'react'
import { type OutputLog, withoutEscapes } from './output-log.ts'

/** Output of a command, stderr told apart by its name beside it; the end stays in sight unless one has scrolled away from it. */
export function OutputView({ label, log, empty }: { label: string; log: OutputLog; empty: string }) {
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
      {log.isCut && <p className="text-muted">(Earlier output is left out.)</p>}
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
