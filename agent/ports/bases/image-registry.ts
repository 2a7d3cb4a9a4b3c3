/** Reference to an image of a registry, by `tag` or `digest`. The digest wins. */
export interface ImageReference {
  /** Host and port as the user wrote them: `docker.io`, `127.0.0.1:5000`. */
  registry: string
  /** Such as `library/debian`. */
  repository: string
  tag: string | null
  /** `sha256:…` or `sha512:…` */
  digest: string | null
}

export interface ImageRequest {
  /** Architecture of this host in the terms of images: `amd64`. */
  architecture: string
  /** Limit of the sum of its parts' sizes. */
  maxBytes: number
  /** Aborts the search, and the transfers of the image it found. */
  signal: AbortSignal
}

/**
 * Pulls public images from registries without credentials. Connects only to public addresses, checked after every redirect and name
 * lookup, unless the operator has named the registry.
 *
 * All methods throw:
 * - `invalid_request` (at `/image`) if the registry does not have the image, or requires credentials. Also for a damaged image, one
 *   without this host's architecture, and a refused address.
 * - `body_too_large` if the image is too large.
 * - `rate_limited` as the registry does.
 * - `internal` if the registry does not answer, or answers too slowly.
 */
export interface ImageRegistry {
  /** Finds an image, in an index the one for this host. Transfers no layers yet. The caller closes the result. */
  find(reference: ImageReference, request: ImageRequest): Promise<RemoteImage>
}

/** An image in a registry. */
export interface RemoteImage {
  /** Digest of the manifest or index that the reference names. */
  digest: string
  /** Bytes of all its parts, as transferred. */
  sizeBytes: number
  /**
   * Returns the image as the archive of an OCI image layout. Each part's digest is verified before the next begins. Call
   * once.
   */
  archive(): AsyncIterable<Uint8Array>
  /** Aborts transfers and closes the connections. */
  close(): void
}
