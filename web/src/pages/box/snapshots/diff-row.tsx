import { Link } from '@tanstack/react-router'
import type { DiffChange, Ref } from '../../../api/records.ts'
import { Button } from '../../../ui/button.tsx'
import { bytesText } from '../../../ui/words.ts'
import { placeOfView, placeSearch } from '../files/place.ts'
import { addressOfFile } from './diff-address.ts'
import { CHANGE_KINDS, changeWords } from './diff-changes.ts'
import { LIVE } from './queries.ts'

interface DiffRowProps {
  box: Ref
  change: DiffChange
  from: string
  to: string
  /** Restores the earlier file. Null if there was none, or the user is not allowed to. */
  restore: (() => void) | null
}

/** A change, with the earlier and the current entry. */
export function DiffRow({ box, change, from, to, restore }: DiffRowProps) {
  const { kind, path, type, size_bytes: size } = change
  const sign = CHANGE_KINDS.find((each) => each.kind === kind)?.sign
  const after = placeSearch(placeOfView(change))
  const before =
    change.from === null ? after : placeSearch(placeOfView({ path: change.from, path_base64: change.from_base64 }))
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-3 py-2">
      <span className="w-24 shrink-0">
        <span aria-hidden className={`mr-1.5 inline-block w-3 text-center font-mono font-bold ${TONES[kind]}`}>
          {sign}
        </span>
        {changeWords(change)}
      </span>
      <span className="min-w-48 flex-1 font-mono text-xs break-all">
        {change.from !== null && <span className="text-muted">{change.from} → </span>}
        {path}
      </span>
      <span className="text-xs whitespace-nowrap text-muted tabular-nums">
        {type === 'file' ? bytesText(size) : type}
      </span>
      <span className="flex items-center gap-3 whitespace-nowrap">
        {type === 'file' && (kind === 'modified' || change.modified) && (
          <Link
            to="/boxes/$project/$name/snapshots"
            params={box}
            search={{ from, to, ...addressOfFile(change) }}
            preload={false}
            className="underline"
            aria-label={`Compare the text of ${path}`}
          >
            Compare
          </Link>
        )}
        {kind !== 'added' && (
          <Link
            to="/boxes/$project/$name/files"
            params={box}
            search={{ ...before, snapshot: from }}
            preload={false}
            className="underline"
          >
            As in {from}
          </Link>
        )}
        {kind !== 'deleted' && (
          <Link
            to="/boxes/$project/$name/files"
            params={box}
            search={to === LIVE ? after : { ...after, snapshot: to }}
            preload={false}
            className="underline"
          >
            {to === LIVE ? 'Now' : `As in ${to}`}
          </Link>
        )}
        {restore && (
          <Button onClick={restore} aria-label={`Restore ${change.from ?? path}`}>
            Restore
          </Button>
        )}
      </span>
    </div>
  )
}

const TONES: Record<DiffChange['kind'], string> = {
  added: 'text-good',
  modified: 'text-warn',
  deleted: 'text-bad',
  renamed: 'text-accent',
}
