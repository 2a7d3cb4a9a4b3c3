/**
 * Checks the path parameters of an operation. A URL drops the segments `.` and `..` (RFC 3986, 5.2.4), even percent-encoded, so such a name
 * would reach another resource. @throws TypeError for an empty name, `.` and `..`
 */
export function checkPathParameters(parameters: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(parameters)) {
    const text = String(value)
    if (text === '' || text === '.' || text === '..') throw new TypeError(`${name}: "${text}" is not a name.`)
  }
}

/** Fills a path template such as `/v1/projects/{project}/boxes`. @throws TypeError for a missing parameter, and as checkPathParameters */
export function fillPath(template: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = parameters[name] ?? ''
    checkPathParameters({ [name]: value })
    return encodeURIComponent(value)
  })
}
