import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildOpenApiDocument } from '../shared/openapi.ts'
import { ROOT } from './commands.ts'

// Writes the OpenAPI document, as `GET /openapi.json` serves it, for tools that read files.
mkdirSync(join(ROOT, '.build'), { recursive: true })
writeFileSync(join(ROOT, '.build/openapi.json'), `${JSON.stringify(buildOpenApiDocument(), null, 2)}\n`)
