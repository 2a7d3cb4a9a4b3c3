import type { BoxRecord } from '../../ports/store/boxes.ts'
import { shortDigestOf } from './digest.ts'

/** Address by which clients reach the edge. */
export interface EdgeAddress {
  /** Parent domain of the hosts of boxes. Lower case. */
  domain: string
  scheme: 'http' | 'https'
  /** Null: the default port of the scheme. */
  port: number | null
}

type BoxNames = Pick<BoxRecord, 'id' | 'project' | 'name'>

/** Returns the host name of a box, `<box>--<project>.<domain>`. By its id where that label is too long (docs/edge.md). */
export function hostOfBox(box: BoxNames, { domain }: Pick<EdgeAddress, 'domain'>): string {
  return `${labelOf([box.name, box.project], () => dashed(box.id))}.${domain}`
}

/** Returns the host name of the active version of a service, `<service>--<box>--<project>.<domain>`. */
export function hostOfService(box: BoxNames, service: string, { domain }: Pick<EdgeAddress, 'domain'>): string {
  return `${labelOf([service, box.name, box.project], () => `s-${serviceDigest(box, service)}`)}.${domain}`
}

/** Returns the host name of a service's preview, `preview--<service>--<box>--<project>.<domain>`. */
export function hostOfPreview(box: BoxNames, service: string, { domain }: Pick<EdgeAddress, 'domain'>): string {
  return `${labelOf(['preview', service, box.name, box.project], () => `p-${serviceDigest(box, service)}`)}.${domain}`
}

/** Returns the host name of the sign-in page, which never serves a box. */
export function signInHost({ domain }: EdgeAddress): string {
  return `${SIGN_IN}.${domain}`
}

/** Returns the origin of a host at the edge, a URL without a slash at its end. */
export function edgeOriginOf(host: string, { scheme, port }: EdgeAddress): string {
  return `${scheme}://${host}${port === null ? '' : `:${port}`}`
}

/** Returns the URL of a host at the edge, with a slash at its end. */
export function urlOf(host: string, address: EdgeAddress): string {
  return `${edgeOriginOf(host, address)}/`
}

/**
 * Returns true if a box or service may be published at `domain`, a valid name. Below the deployment's domain, this allows only names that
 * no box has by default.
 */
export function mayPublish(domain: string, { domain: own }: EdgeAddress): boolean {
  if (domain === own) return false
  if (!domain.endsWith(`.${own}`)) return true
  const label = domain.slice(0, -own.length - 1)
  return !label.includes('.') && !label.includes('--') && label !== SIGN_IN && !/^(box|s|p)-/.test(label)
}

/**
 * Returns true for a domain at, below or above a reserved name. A page there can set or read cookies of the reserved host. Names below the
 * deployment's domain are reserved only by names that are below it as well.
 */
export function isReserved(
  domain: string,
  { reserved, address }: { reserved: readonly string[]; address: EdgeAddress },
): boolean {
  const names = isOwnHost(domain, address) ? reserved.filter((name) => name.endsWith(`.${address.domain}`)) : reserved
  return names.some((name) => domain === name || domain.endsWith(`.${name}`) || name.endsWith(`.${domain}`))
}

/** Returns true for a host at or below the deployment's domain, taken or not. */
export function isOwnHost(host: string, { domain }: EdgeAddress): boolean {
  return host === domain || host.endsWith(`.${domain}`)
}

/** Returns the project in the label of a host below the deployment's domain, existing or not. Null for none. */
export function projectOfHost(host: string, { domain }: EdgeAddress): string | null {
  const label = host.endsWith(`.${domain}`) ? host.slice(0, -domain.length - 1) : ''
  return label.includes('--') ? (label.split('--').at(-1) ?? null) : null
}

/**
 * Returns the box in the label of a host below the deployment's domain, whether or not it exists. Null for none, and for a label that
 * replaces a long name. `isOwn`: the host is the box's own, not one of a service of it.
 */
export function boxOfHost(
  host: string,
  { domain }: Pick<EdgeAddress, 'domain'>,
): { project: string; name: string; isOwn: boolean } | null {
  const parts = host.endsWith(`.${domain}`) ? host.slice(0, -domain.length - 1).split('--') : []
  const [name, project] = parts.slice(-2)
  return name === undefined || project === undefined || project.includes('.')
    ? null
    : { project, name, isOwn: parts.length === 2 }
}

/** Normalizes a host name from a `Host` header: lower case, without port and trailing dot. Null if it is not a host name. */
export function hostNameOf(given: string | null | undefined): string | null {
  const name =
    given
      ?.toLowerCase()
      .replace(/:\d{1,5}$/, '')
      .replace(/\.$/, '') ?? ''
  return name.length <= 253 && HOST_NAME.test(name) ? name : null
}

function labelOf(names: readonly string[], otherwise: () => string): string {
  const label = names.join('--')
  return label.length <= LABEL_MAX ? label : otherwise()
}

function serviceDigest({ id }: BoxNames, service: string): string {
  return shortDigestOf(`${id}/${service}`)
}

function dashed(id: string): string {
  return id.replace('_', '-')
}

const SIGN_IN = 'sign-in'
/** Longest label in DNS (RFC 1035). */
const LABEL_MAX = 63
const HOST_NAME = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/
