import { ApiError } from '@boxyard/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Ref } from '../../../api/records.ts'
import { useLive } from '../../../shell/live-provider.tsx'
import { Button } from '../../../ui/button.tsx'
import { FaultForm, FaultRest } from '../../../ui/fault-form.tsx'
import { CheckField, TextField } from '../../../ui/field.tsx'
import { Panel } from '../../../ui/page.tsx'
import { textOf } from '../../boxes/form-text.ts'
import { useLiveCommand } from './live-command.ts'
import { OutputView } from './output-view.tsx'
import { execsQuery } from './queries.ts'
import { SignalCommand } from './signal-command.tsx'

/** Runs a shell line in the box, and shows its output live. */
export function RunCommand({ box }: { box: Ref }) {
  const queries = useQueryClient()
  const { isPolled } = useLive()
  const refresh = (): void => void queries.invalidateQueries({ queryKey: execsQuery(box).queryKey })
  const { live, run, isRunning } = useLiveCommand(box, { onChange: refresh, isStreamed: !isPolled })
  // A command that did not start has no output to show.
  const refused = live !== null && live.id === null && live.error instanceof ApiError ? live.error : null
  const start = (form: FormData): void => {
    const seconds = Number(textOf(form, 'timeout'))
    void run(textOf(form, 'line'), {
      cwd: textOf(form, 'cwd') || undefined,
      user: textOf(form, 'user') || undefined,
      timeoutSeconds: seconds > 0 ? seconds : undefined,
      noHup: form.has('noHup'),
    })
  }
  return (
    <Panel title="Run a command">
      <FaultForm
        error={refused}
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          start(new FormData(event.currentTarget))
        }}
      >
        <LineField isRunning={isRunning} />
        <RunOptions isPolled={isPolled} />
        <FaultRest />
      </FaultForm>
      {live && refused === null && (
        <div className="mt-4 flex flex-col gap-2">
          <div className="flex flex-wrap items-center justify-between gap-2">
            <p role="status">
              <code className="break-all">{live.line}</code>{' '}
              <span className="text-muted">{live.end ?? 'running…'}</span>
            </p>
            <span className="flex items-center gap-3">
              {live.id !== null && !isRunning && (
                <Link
                  to="/boxes/$project/$name/commands"
                  params={{ project: box.project, name: box.name }}
                  search={{ exec: live.id }}
                  className="underline"
                >
                  Details
                </Link>
              )}
              {isRunning && live.id !== null && <SignalCommand box={box} exec={live.id} />}
            </span>
          </div>
          <OutputView label="Output" output={live} empty={isRunning ? 'No output yet.' : 'No output.'} />
        </div>
      )}
    </Panel>
  )
}

function LineField({ isRunning }: { isRunning: boolean }) {
  return (
    <div className="flex items-start gap-2">
      <TextField
        label="Command"
        name="line"
        apiNames={['command', 'shell']}
        required
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        placeholder="uname -a"
        className="min-w-0 flex-1 [&_input]:font-mono"
      />
      <Button type="submit" kind="primary" className="mt-6" disabled={isRunning}>
        Run
      </Button>
    </div>
  )
}

function RunOptions({ isPolled }: { isPolled: boolean }) {
  return (
    <details>
      <summary className="cursor-pointer text-muted">Options</summary>
      <div className="mt-3 grid gap-3 sm:grid-cols-3">
        <TextField label="Directory" name="cwd" placeholder="home directory" autoComplete="off" pattern="/.*" />
        <TextField label="User" name="user" placeholder="root" autoComplete="off" />
        <TextField
          label="Timeout in seconds"
          name="timeout"
          apiNames={['timeout_seconds']}
          type="number"
          min="0.001"
          step="any"
          placeholder="none"
        />
        <CheckField
          className="sm:col-span-3"
          label="Keep running when I leave"
          name="noHup"
          {...(isPolled ? { checked: true, disabled: true } : {})}
          hint={
            isPolled
              ? 'This console is served without streams, so every command keeps running.'
              : 'The command also survives a restart of Boxyard. Without this, it ends when you leave the page.'
          }
        />
      </div>
    </details>
  )
}
