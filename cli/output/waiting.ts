import type { Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { toApiError } from '../../sdk/typescript/src/problems.ts'
import type { Operation } from '../../sdk/typescript/src/waits.ts'
import { whileInterruptible } from './interrupts.ts'
import { isSeen, redrawLine, reportLine } from './terminal.ts'

/**
 * Waits for the end of an operation, given by its id or `Operation-Location`, and shows its progress on a terminal. If the user interrupts
 * it, reports that the operation continues. @throws ApiError with its problem if it failed
 */
export async function followOperation(boxyard: Boxyard, location: string): Promise<Operation> {
  const id = location.slice(location.lastIndexOf('/') + 1)
  const goesOn = `boxyard: the operation continues in the background. To check on it: boxyard operation ${id}`
  return whileInterruptible(
    () => reportLine(`${isSeen() ? '\n' : ''}${goesOn}`),
    async () => {
      for (;;) {
        const query = { wait_seconds: isSeen() ? 1 : 25 }
        const operation = await boxyard.call('getOperation', { path: { operation: id }, query })
        if (operation.status !== 'running') redrawLine('')
        if (operation.status === 'failed') throw toApiError(409, operation.error)
        if (operation.status === 'done') return operation
        redrawLine(progressLine(operation))
      }
    },
  )
}

/** Describes an operation and its progress, if that is known. A pure function. */
export function progressLine({ kind, resource, progress }: Pick<Operation, 'kind' | 'resource' | 'progress'>): string {
  const name = resource.slice(resource.lastIndexOf('/') + 1)
  return `Waiting for ${kind} of ${name}${progress === null ? '' : `: ${Math.floor(progress * 100)} %`}`
}

/** Does `work`, and reports what it waits for if this takes longer than a second. */
export async function tellIfSlow<T>(tell: (text: string) => void, what: string, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(() => tell(`Waiting: ${what.charAt(0).toLowerCase()}${what.slice(1)}`), SLOW_MS)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}

const SLOW_MS = 1000
