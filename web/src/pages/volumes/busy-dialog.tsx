import type { ApiError } from '@boxyard/sdk'
import { Link } from '@tanstack/react-router'
import type { Volume } from '../../api/records.ts'
import { useRights } from '../../shell/rights.ts'
import { Button, buttonStyle } from '../../ui/button.tsx'
import { CodeLine } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Cell, Row, Table } from '../../ui/table.tsx'
import { parseVolumeUsers } from './busy.ts'

interface BusyDialogProps {
  /** The refusal, and the box that uses the volume, or null. */
  busy: { box: string; error: ApiError } | null
  volume: Volume
  isTrying: boolean
  close(): void
  /** Retries the same. Absent if that no longer makes sense. */
  retry?: () => void
}

/** Lists the processes that prevent detaching a volume, and the next step. */
export function BusyDialog({ busy, volume, isTrying, close, retry }: BusyDialogProps) {
  const { canExec } = useRights()
  const users = busy && parseVolumeUsers(busy.error.message)
  return (
    <Dialog
      title={`${busy?.box} uses ${volume.name}`}
      about="Nothing changed. To detach the volume, end the processes that use its files."
      isOpen={busy !== null}
      close={close}
    >
      <div className="flex flex-col gap-4">
        {users && busy ? (
          <>
            <Table label={`Processes of ${busy.box} that use ${users.path}`} head={['Process', 'Name']}>
              {users.processes.map(({ pid, name }) => (
                <Row key={pid}>
                  <Cell>
                    <code>{pid}</code>
                  </Cell>
                  <Cell>
                    <code>{name}</code>
                  </Cell>
                </Row>
              ))}
            </Table>
            <div>
              <p className="mb-2">Run this in the box to end them:</p>
              <CodeLine text={`kill ${users.processes.map(({ pid }) => pid).join(' ')}`} />
            </div>
          </>
        ) : (
          busy && <Problem error={busy.error} />
        )}
        {users && busy?.error.requestId && (
          <p className="font-mono text-xs text-muted">
            {busy.error.code} <span className="select-all">{busy.error.requestId}</span>
          </p>
        )}
        <div className="dialog-buttons flex flex-wrap justify-end gap-2">
          {canExec && busy && (
            <Link
              to="/boxes/$project/$name/terminal"
              params={{ project: volume.project, name: busy.box }}
              className={buttonStyle()}
            >
              Open terminal
            </Link>
          )}
          <Button kind="primary" disabled={isTrying || retry === undefined} onClick={retry}>
            {isTrying ? 'Detaching…' : 'Try again'}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
