import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { LogOut } from 'lucide-react'
import { forgetJobs } from '../api/jobs.ts'
import { forgetSession, signOut } from '../api/session.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Problem } from '../ui/problem.tsx'

/** Ends the session. Shows a failure, and then can forget the session only here. */
export function SignOut() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const leave = async (): Promise<void> => {
    queries.clear()
    forgetJobs()
    await navigate({ to: '/sign-in' })
  }
  const end = useMutation({ mutationFn: signOut, onSuccess: leave, networkMode: 'always' })
  return (
    <>
      <button
        type="button"
        className="inline-flex items-center gap-1 rounded p-1.5 hover:bg-raised"
        disabled={end.isPending}
        onClick={() => end.mutate()}
      >
        <LogOut aria-hidden className="size-4" /> Sign out
      </button>
      <Dialog
        title="Couldn't sign out"
        about="You are still signed in. This browser can forget the session, but the session then stays valid until someone revokes it under Tokens, or until it expires after seven days."
        isOpen={end.isError}
        close={end.reset}
      >
        <div className="flex flex-col gap-4">
          <Problem error={end.error} />
          <div className="dialog-buttons flex flex-wrap justify-end gap-2">
            <Button onClick={end.reset}>Stay signed in</Button>
            <Button
              kind="danger"
              onClick={() => {
                forgetSession()
                void leave()
              }}
            >
              Forget session here
            </Button>
            <Button kind="primary" onClick={() => end.mutate()}>
              Try again
            </Button>
          </div>
        </div>
      </Dialog>
    </>
  )
}
