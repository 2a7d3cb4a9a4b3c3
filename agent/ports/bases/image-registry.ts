/** Names an image of a registry, by `tag` or `digest`; with both the digest counts. */
export interface ImageReference {
  /** As it is named, host and port: `docker.io`, `127.0.0.1:5000`. */
  registry: string
  /** Such as `library/debian`. */
  repository: string
  tag: string | null
  /** `sha256:…` or `sha512:…` */
  digest: string | null
}

export interface ImageRequest {
  /** Of this host, as images name it: `amd64`. */
  architecture: string
  /** Bounds the sum of its parts. */
  mostBytes: number
  /** Aborts the search, and the transfers of the image it found. */
  signal: AbortSignal
}

/**
 * Images of registries, of which one gets what they give to everybody: no credentials are sent. Nothing is asked of an address
 * that is not public, whatever a registry or its name leads to, unless the operator has named the registry. All throw
 * `invalid_request` (at `/image`) for what the registry does not have, or give without credentials, for what is damaged or no
 * image for this host, and for an address that is refused; `body_too_large`; `rate_limited` as the registry does; `internal`
 * where the registry does not answer, or too slowly.
 */
export interface ImageRegistry {
  /** Finds an image, in an index the one for this host. Transfers no layers yet. The caller closes the result. */
  find(reference: ImageReference, request: ImageRequest): Promise<RemoteImage>
}

/** An image that a registry has. */
export interface RemoteImage {
  /** Of what the reference names. */
  digest: string
  /** Of all its parts, as they are brought. */
  sizeBytes: number
  /** All of it, as the archive of an OCI image layout, each part proven by its digest by the time the next begins; once. */
  archive(): AsyncIterable<Uint8Array>
  /** Aborts transfers and closes the connections. */
  close(): void
}
