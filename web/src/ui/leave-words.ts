import { reasonKept } from '../api/session.ts'

/** Returns the question before leaving a page with unsaved work. If the session has ended, it says so. */
export function leaveWords(title: string, lost: string): { title: string; about: string } {
  const reason = reasonKept()
  if (reason === null) return { title, about: lost }
  return {
    title: `Your session has ended. ${title}`,
    about: `${reason} ${lost} To keep it, stay on this page and sign in again in another tab.`,
  }
}
