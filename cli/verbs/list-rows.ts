import type { AnswerOf } from '../../sdk/typescript/src/calls.ts'

/** Columns of volumes. */
export const VOLUME_COLUMNS = ['name', 'size_gb', 'used_bytes', 'attached', 'created_at', 'id']

/** Adds to each volume where it is attached, such as `web:/srv/db` or `web:/srv/db:ro`. A pure function. */
export function volumeRows(answer: unknown): object[] {
  const { volumes } = answer as AnswerOf<'listVolumes'>
  return volumes.map((volume) => ({
    ...volume,
    attached: volume.attachments.map(
      ({ box, path, read_only: isReadOnly }) => `${box}:${path}${isReadOnly ? ':ro' : ''}`,
    ),
  }))
}

/** Columns of services. */
export const SERVICE_COLUMNS = ['name', 'state', 'port', 'url', 'preview']

/** Creates the rows of services, with the state of a preview that exists. A pure function. */
export function serviceRows(answer: unknown): object[] {
  const { services } = answer as AnswerOf<'listServices'>
  return services.map(({ name, state, spec, active_url: url, preview }) => ({
    ...{ name, state, port: spec.port, url, preview: preview?.state ?? null },
  }))
}
