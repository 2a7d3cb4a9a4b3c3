import { CodeLine } from '../../ui/copy.tsx'
import { Panel } from '../../ui/page.tsx'
import { useBoxRef } from './box.tsx'
import { snippetsOf } from './snippets.ts'

/** Ways to reach a box: the command line, SSH, curl and the SDKs. */
export function Connect() {
  const ref = useBoxRef()
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 p-4 md:p-6">
      {snippetsOf(ref, location.origin).map(({ name, about, text }) => (
        <Panel key={name} title={name}>
          <p className="mb-2 text-muted">{about}</p>
          <CodeLine text={text} />
        </Panel>
      ))}
    </div>
  )
}
