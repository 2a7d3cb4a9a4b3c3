import { type ChildProcess, spawn } from 'node:child_process'
import type { LookupFunction } from 'node:net'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { makeCertificateFor } from '../../helpers/edge/certificates.ts'
import { makeSites } from '../../helpers/edge/sites.ts'
import { askTls, openTls } from '../../helpers/edge/tls-client.ts'
import { untilSucceeds } from '../../helpers/eventually.ts'
import { openStream } from '../../helpers/exec/stream-client.ts'
import { useOwnService } from '../../helpers/own-service.ts'
import { freePort } from '../../helpers/service.ts'

/** The proxy of `docs/access.md`, with the settings that it names, but for ports and paths. */
const PAGE = readFileSync(join(ROOT, 'docs/access.md'), 'utf8')
