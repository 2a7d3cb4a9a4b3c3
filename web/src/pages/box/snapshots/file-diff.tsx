import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { FileContent, Ref } from '../../../api/records.ts'
import { Button } from '../../../ui/button.tsx'
import { Empty, Loading } from '../../../ui/page.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { bytesText } from '../../../ui/words.ts'
import type { FilePlace } from '../files/place.ts'
import { PlaceLink } from '../files/place-link.tsx'
import { contentQuery, type FilesAt, SHOWN_BYTES_MAX, statQuery } from '../files/queries.ts'
import { LIVE } from './queries.ts'
import { sameTextWords } from './same-text.ts'
import type { TextDiffRow } from './text-diff.ts'

interface FileDiffProps {
  box: Ref
  /** Paths of the file before and after. */
  places: { before: FilePlace; after: FilePlace }
  from: string
  to: string
}

/** Changes in the text of a file between two snapshots, or until now. */
export function FileDiff({ box, places, from, to }: FileDiffProps) {
  const before: FilesAt = { box, place: places.before, snapshot: from }
  const after: FilesAt = { box, place: places.after, snapshot: to === LIVE ? undefined : to }
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Link
          to="/boxes/$project/$name/snapshots"
          params={box}
          search={{ from, to }}
          className="inline-flex items-center gap-1 underline"
        >
          <ArrowLeft aria-hidden className="size-4" /> All changes
        </Link>
        <h2 className="text-lg font-semibold break-all">
          {places.before.text !== places.after.text && `${places.before.text} → `}
          {places.after.text}
        </h2>
        <span className="flex flex-wrap gap-x-3">
          <PlaceLink at={before}>{`As in ${from}`}</PlaceLink>
          <PlaceLink at={after}>{to === LIVE ? 'Now' : `As in ${to}`}</PlaceLink>
        </span>
      </div>
      <BothForms before={before} after={after} />
    </>
  )
}

/** Reads both forms of the file, or explains why they cannot be compared. */
function BothForms({ before, after }: { before: FilesAt; after: FilesAt }) {
  const old = useForm(before)
  const fresh = useForm(after)
  const error = old.error ?? fresh.error
  if (error !== null) return <Problem error={error} retry={old.error === null ? fresh.retry : old.retry} />
  const reason = old.reason ?? fresh.reason
  if (reason !== null) return <Empty title="No text to compare">{reason}</Empty>
  if (!old.file || !fresh.file) return <Loading />
  return <Compared before={old.file} after={fresh.file} />
}

/** Reads one form of the file, unless it is too large. */
function useForm(at: FilesAt) {
  const when = at.snapshot === undefined ? 'now' : `in ${at.snapshot}`
  const stat = useQuery(statQuery(at))
  const isLarge = (stat.data?.size_bytes ?? 0) > SHOWN_BYTES_MAX
  const content = useQuery({ ...contentQuery(at), enabled: stat.data?.type === 'file' && !isLarge })
  const reasonOf = (): string | null => {
    if (stat.data !== undefined && stat.data.type !== 'file') return `It is a ${stat.data.type} ${when}.`
    if (isLarge) return `It has more than ${bytesText(SHOWN_BYTES_MAX)} ${when}. Download both files to compare them.`
    return content.data !== undefined && content.data.encoding !== 'utf-8'
      ? `It has bytes that are not UTF-8 ${when}.`
      : null
  }
  const retry = (): void => void stat.refetch().then(() => content.refetch())
  return { file: content.data, error: stat.error ?? content.error, reason: reasonOf(), retry }
}

function Compared({ before, after }: { before: FileContent; after: FileContent }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['text-diff', before.etag, after.etag],
    // Loaded on demand.
    queryFn: async () => (await import('./text-diff.ts')).compareTexts(before.content, after.content),
    staleTime: 'static',
    gcTime: 0,
  })
  const [most, setMost] = useState(ROWS_AT_ONCE)
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />
  if (data === undefined) return <Loading what="Comparing" />
  if (data === null)
    return (
      <Empty title="Almost everything differs">
        Comparing line by line would take too long. Open both files instead.
      </Empty>
    )
  if (data.rows.length === 0) return <Empty title="The text is the same">{sameTextWords(before, after)}</Empty>
  return (
    <>
      <p role="status" className="text-muted tabular-nums">
        <span className="font-mono font-bold text-good">+</span> {data.added} {data.added === 1 ? 'line' : 'lines'}{' '}
        added, <span className="font-mono font-bold text-bad">−</span> {data.deleted} deleted
      </p>
      <Lines rows={data.rows.slice(0, most)} />
      {data.rows.length > most && (
        <Button className="self-center" onClick={() => setMost(most + ROWS_AT_ONCE)}>
          Show more lines ({data.rows.length - most})
        </Button>
      )}
    </>
  )
}

function Lines({ rows }: { rows: readonly TextDiffRow[] }) {
  return (
    <div
      tabIndex={0}
      role="region"
      aria-label="Changed lines with context"
      className="overflow-x-auto rounded-lg border border-line bg-panel"
    >
      <table className="w-full font-mono text-xs leading-5">
        <thead className="sr-only">
          <tr>
            <th scope="col">Line before</th>
            <th scope="col">Line after</th>
            <th scope="col">Change</th>
            <th scope="col">Text</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // Lines have no names. Their order identifies them.
            <Line key={index} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Line({ row }: { row: TextDiffRow }) {
  if (row.kind === 'gap' || row.kind === 'note') {
    return (
      <tr className="bg-raised text-muted">
        <td colSpan={4} className="px-3 py-0.5">
          {row.kind === 'note' ? row.text : `${row.count} ${row.count === 1 ? 'unchanged line' : 'unchanged lines'}`}
        </td>
      </tr>
    )
  }
  const { tone, sign, word } = SIGNS[row.kind]
  return (
    <tr className={tone}>
      <Numbered>{row.before}</Numbered>
      <Numbered>{row.after}</Numbered>
      <td className="min-w-6 px-1.5 text-center font-bold select-none">
        <span aria-hidden>{sign}</span>
        <span className="sr-only">{word}</span>
      </td>
      <td className="w-full pr-3 whitespace-pre">{row.text === '' ? ' ' : row.text}</td>
    </tr>
  )
}

function Numbered({ children }: { children: ReactNode }) {
  return <td className="w-12 px-2 text-right text-muted tabular-nums select-none">{children}</td>
}

const SIGNS = {
  same: { tone: '', sign: '', word: 'the same' },
  added: { tone: 'bg-accent-soft', sign: '+', word: 'added' },
  deleted: { tone: 'bg-bad-soft', sign: '−', word: 'deleted' },
}
const ROWS_AT_ONCE = 2_000
