import { ServiceError } from '../../../shared/errors.ts'
import { SERVICE_HISTORY_MAX } from '../../../shared/schemas/services.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { ServiceChange, ServiceRecord } from '../../ports/store/services.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import { editRecord } from '../common/edit-record.ts'
import { checkIfMatch } from '../common/preconditions.ts'

/** The record after something was done to it; the oldest changes are forgotten. */
export function withChange(record: ServiceRecord, change: Omit<ServiceChange, 'generation'>): ServiceRecord {
  const history = [...record.history, { ...change, generation: record.generation }].slice(-SERVICE_HISTORY_MAX)
  return { ...record, history }
}

/**
 * Writes what `edit` makes of the record as it is then; the same object is nothing to write.
 * @throws ServiceError `service_not_found`, `precondition_failed`
 */
export async function changeService(
  { store, clock }: { store: Store; clock: Clock },
  { box, name, ifMatch }: { box: BoxRecord; name: string; ifMatch: string | null },
  edit: (record: ServiceRecord) => ServiceRecord,
): Promise<void> {
  await editRecord(clock, {
    read: async () => {
      const record = await store.services.get(box.id, name)
      if (record === null) throw serviceNotFound(box, name)
      return record
    },
    edit: (record) => {
      checkIfMatch(ifMatch, record.version)
      return edit(record)
    },
    write: (next) => store.services.replace(next),
  })
}

/** The error that tells of a service that is not there. */
export function serviceNotFound(box: Pick<BoxRecord, 'name'>, name: string): ServiceError {
  return new ServiceError('service_not_found', `The box "${box.name}" has no service named "${name}".`)
}
