import { Link } from '@tanstack/react-router'
import { ExternalLink, Play, Square, SquareTerminal } from 'lucide-react'
import type { Box } from '../../api/records.ts'
import { startBoxes, stopBoxes } from '../../shell/power.ts'
import type { Rights } from '../../shell/rights.ts'
import { ABOVE_ROW_LINK } from '../../ui/long-table.tsx'
import { BoxUrl } from '../box/box-url.tsx'

interface RowActionsProps extends Pick<Rights, 'canExec' | 'canWrite'> {
  box: Box
}

/** Offers the most frequent actions in the row of a box: open its terminal or URL, start or stop it. */
export function RowActions({ box, canExec, canWrite }: RowActionsProps) {
  const { project, name, status, url } = box
  const isRunning = status === 'running'
  return (
    <span className={`flex justify-end gap-0.5 ${ABOVE_ROW_LINK}`}>
      {canExec && isRunning && (
        <Link
          to="/boxes/$project/$name/terminal"
          params={{ project, name }}
          preload={false}
          aria-label="Terminal"
          title={`Terminal of ${name}`}
          className={ICON}
        >
          <SquareTerminal aria-hidden className="size-4" />
        </Link>
      )}
      {url !== null && (
        <BoxUrl box={box} url={url} className={ICON} label="Open URL">
          <ExternalLink aria-hidden className="size-4" />
        </BoxUrl>
      )}
      {canWrite && (isRunning || status === 'stopped') && (
        <button
          type="button"
          aria-label={isRunning ? 'Stop' : 'Start'}
          title={`${isRunning ? 'Stop' : 'Start'} ${name}`}
          className={ICON}
          onClick={() => void (isRunning ? stopBoxes([box]) : startBoxes([box]))}
        >
          {isRunning ? <Square aria-hidden className="size-4" /> : <Play aria-hidden className="size-4" />}
        </button>
      )}
    </span>
  )
}

const ICON = 'rounded p-1.5 text-muted hover:bg-line hover:text-text'
