import type { ServiceError } from '../../../shared/errors.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { ImageReference } from '../../ports/bases/image-registry.ts'

/**
 * Parses a reference as container tools do: `debian`, `user/tool:1`, `ghcr.io/user/tool@sha256:…`,
 * `127.0.0.1:5000/tool:2@sha256:…`. The registry defaults to Docker Hub, the tag to `latest` if there is no digest.
 * @throws ServiceError `invalid_request`
 */
export function parseImageReference(text: string): ImageReference {
  const [named = '', digest = null, ...rest] = text.split('@')
  const { registry, path } = splitRegistry(named)
  const [repository = '', tag = null, ...more] = path.split(':')
  if (rest.length > 0 || more.length > 0) throw unreadable('has too many parts')
  if (digest !== null && !DIGEST.test(digest)) throw unreadable('has an invalid digest')
  if (tag !== null && !TAG.test(tag)) throw unreadable('has an invalid tag')
  if (!HOST.test(registry) || !isPort(registry)) throw unreadable('names no registry as host or host:port')
  if (!REPOSITORY.test(repository) || repository.length > REPOSITORY_MAX) throw unreadable('names no repository')
  const isHub = registry === HUB || registry === `index.${HUB}`
  return {
    registry: isHub ? HUB : registry,
    repository: isHub && !repository.includes('/') ? `library/${repository}` : repository,
    tag: tag ?? (digest === null ? 'latest' : null),
    digest,
  }
}

/** Formats the reference in full, with the digest that it resolved to. */
export function formatImageReference({ registry, repository, tag }: ImageReference, digest: string): string {
  return `${registry}/${repository}${tag === null ? '' : `:${tag}`}@${digest}`
}

// A first segment without a dot or port that is not `localhost` is a user of Docker Hub.
function splitRegistry(named: string): { registry: string; path: string } {
  const cut = named.indexOf('/')
  const first = named.slice(0, Math.max(0, cut))
  if (!/[.:]/.test(first) && first !== 'localhost') return { registry: HUB, path: named }
  return { registry: first.toLowerCase(), path: named.slice(cut + 1) }
}

function isPort(registry: string): boolean {
  const port = /:(\d+)$/.exec(registry)?.[1]
  return port === undefined || (Number(port) >= 1 && Number(port) <= 65_535)
}

function unreadable(why: string): ServiceError {
  return invalidRequest([
    { pointer: '/image', detail: `${why}. Expected a reference such as debian:12 or ghcr.io/user/tool@sha256:…` },
  ])
}

const HUB = 'docker.io'
const REPOSITORY_MAX = 255
const HOST = /^([a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])(:\d{1,5})?$/
const REPOSITORY = /^[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*)*$/
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/
const DIGEST = /^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/
