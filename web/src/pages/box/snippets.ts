import type { Ref } from '../../api/records.ts'

/** A text to copy that reaches a box. */
export interface Snippet {
  name: string
  about: string
  text: string
}

/** Returns the ways to reach a box of the service at `origin`. Names are safe in a shell: a–z, 0–9 and `-`. */
export function snippetsOf({ project, name }: Ref, origin: string): Snippet[] {
  return [
    {
      name: 'Command line',
      about: 'Log in once. The command asks for your token.',
      text: `boxyard login ${origin}\nboxyard use ${project}\nboxyard exec ${name} uname -a\nboxyard console ${name}`,
    },
    {
      name: 'SSH',
      about: 'Works with OpenSSH, scp, rsync, git and editors. It opens no port.',
      text: `boxyard ssh-config --install\nssh ${name}.${project}.boxyard`,
    },
    {
      name: 'curl',
      about: 'Reads the token from the environment.',
      text: `curl -H "Authorization: Bearer $BOXYARD_TOKEN" -H 'Content-Type: application/json' \\\n  -d '{"command":["uname","-a"]}' ${origin}/v1/projects/${project}/boxes/${name}/exec`,
    },
    {
      name: 'TypeScript',
      about: 'npm install @boxyard/sdk',
      text: `import { createBoxyard } from '@boxyard/sdk'\n\nconst boxyard = createBoxyard({ url: '${origin}', token: process.env.BOXYARD_TOKEN })\nconst { stdout } = await boxyard.box('${project}', '${name}').run('uname -a')`,
    },
    {
      name: 'Python',
      about: 'pip install boxyard',
      text: `from boxyard import Boxyard\n\nwith Boxyard("${origin}", token) as yard:\n    print(yard.box("${project}", "${name}").run("uname -a").stdout)`,
    },
  ]
}
