/** The filter of audit log lines. */
export interface AuditFilter {
  actor?: string
  project?: string
  operation?: string
  status?: number
}

/** Returns the filter in the address, without values that the service would reject. */
export function auditFilterOf(search: Readonly<Record<string, string>>): AuditFilter {
  const { actor = '', project = '', operation = '', status = '' } = search
  return {
    ...(actor === '' ? {} : { actor }),
    ...(/^[a-z0-9]+(-[a-z0-9]+)*$/.test(project) ? { project } : {}),
    ...(operation === '' ? {} : { operation }),
    ...(/^[1-5]\d\d$/.test(status) ? { status: Number(status) } : {}),
  }
}

/** Returns the word for the result of a request. */
export function outcomeText(status: number): string {
  if (status < 400) return status === 202 ? 'Accepted' : 'OK'
  return status < 500 ? 'Refused' : 'Failed'
}
