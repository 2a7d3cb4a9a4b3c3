import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { parseImageReference } from '../../../agent/core/bases/image-reference.ts'
import { createImageRegistry } from '../../../agent/drivers/registry/image-registry.ts'
import { tarOf } from '../../helpers/bases/hostile-tar.ts'
import { newImage } from '../../helpers/bases/image-archive.ts'
import { type ScriptedRegistry, startScriptedRegistry } from '../../helpers/bases/scripted-registry.ts'
import { makeCertificate } from '../../helpers/edge/certificates.ts'

const directory = mkdtempSync(join(tmpdir(), 'boxyard-registry-tls-'))
const authorities = tls.getCACertificates('default')
const image = newImage()
const layer = image.addLayer(tarOf([{ name: 'bin/sh' }]), 'gzip')
let registry: ScriptedRegistry
let certificate: string

beforeAll(async () => {
  const pair = makeCertificate(directory, 'registry')
  certificate = pair.cert
  registry = await startScriptedRegistry({ image, top: image.addManifest([layer]), tls: pair })
})

afterEach(() => tls.setDefaultCACertificates(authorities))

afterAll(async () => {
  await registry.close()
  rmSync(directory, { recursive: true, force: true })
})

async function find(named: string[]): Promise<number> {
  const images = createImageRegistry({ named, now: Date.now })
  const wish = { architecture: 'amd64', maxBytes: 1e9, signal: new AbortController().signal }
  const found = await images.find(parseImageReference(`${registry.host}/it:1`), wish)
  found.close()
  return found.sizeBytes
}

test('a registry is contacted over https, and needs a certificate of a trusted authority', async () => {
  await expect(find([registry.url])).rejects.toMatchObject({ code: 'internal' })
  expect(registry.asked).toEqual([])
  tls.setDefaultCACertificates([...authorities, certificate])
  expect(await find([registry.url])).toBe(layer.size)
})

test('a registry at an address that is not public gets no handshake', async () => {
  tls.setDefaultCACertificates([...authorities, certificate])
  const before = registry.connections()
  await expect(find([])).rejects.toMatchObject({ code: 'invalid_request' })
  expect(registry.connections()).toBe(before)
})
