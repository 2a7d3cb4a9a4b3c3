import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import type { Ref } from '../../../api/records.ts'
import { Button } from '../../../ui/button.tsx'
import { FilterSelect } from '../../../ui/field.tsx'
import { tell, tellError } from '../../../ui/toasts.tsx'
import { execsQuery } from './queries.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL', 'SIGHUP', 'SIGSTOP', 'SIGCONT', 'SIGUSR1', 'SIGUSR2'] as const

/** Sends a signal to a command that runs, and to its processes. */
export function SignalCommand({ box, exec }: { box: Ref; exec: string }) {
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<(typeof SIGNALS)[number]>('SIGINT')
  const send = useMutation({
    mutationFn: (signal: (typeof SIGNALS)[number]) =>
      api().call('signalExec', { path: { project: box.project, name: box.name, exec }, body: { signal } }),
    onSuccess: async (_, signal) => {
      tell(`Sent ${signal}.`)
      await queries.invalidateQueries({ queryKey: execsQuery(box).queryKey })
    },
    onError: tellError,
  })
  return (
    <span className="inline-flex items-center gap-2">
      <FilterSelect
        label="Signal"
        value={chosen}
        onChange={(event) => setChosen(SIGNALS.find((each) => each === event.target.value) ?? 'SIGINT')}
      >
        {SIGNALS.map((signal) => (
          <option key={signal}>{signal}</option>
        ))}
      </FilterSelect>
      <Button disabled={send.isPending} onClick={() => send.mutate(chosen)}>
        Send signal
      </Button>
    </span>
  )
}
