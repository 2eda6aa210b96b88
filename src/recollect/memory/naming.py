"""What projects are called: the verbs that list them, and say that two are one or one is two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.memory.part import Part, now_ms

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.search.project_names import ProjectNames
    from recollect.values.projects import Decision, Project


class Naming(Part):
    """The part of a `Memory` that names projects."""

    def projects(self) -> list[Project]:
        """Every project with the names it goes by, the most recently active first."""
        from recollect.search.projects import by_name

        with self.view() as view:
            return by_name(view).projects()

    def projects_by_folder_name(self) -> dict[str, str]:
        """The name of a project by the remote, or the folder's name, of each repository of it.

        That is all that is known of a folder in which a conversation begins.
        """
        from recollect.search.projects import by_name

        with self.view() as view:
            return by_name(view).names.by_folder_name()

    def join_projects(self, into: str, other: str) -> Project:
        """Make two projects one, under the name of the first; returns it as it then is."""
        return self._decide(lambda names: names.join(into, other))

    def split_project(self, alias: str) -> Project:
        """Take a name out of the project it was joined into, or found to be of."""
        return self._decide(lambda names: names.split(alias))

    def rename_project(self, project: str, name: str) -> Project:
        """Call a project by another name, wherever one is shown or asked for."""
        return self._decide(lambda names: names.rename(project, name))

    def label_project(self, project: str, label: str) -> Project:
        """Say `key=value` of a project, to filter and group by; `key=` takes it back."""
        return self._decide(lambda names: names.label(project, label))

    def _decide(self, choose: Callable[[ProjectNames], Decision]) -> Project:
        from recollect.intake.notes import decide
        from recollect.search.projects import by_name

        self._fold_if_free()  # a project may be known by what a hook appended alone
        with self._store.writer() as writer:
            decision = choose(by_name(writer.view()).names)
            decide(writer, self.config.host, decision, now_ms=now_ms())
            writer.commit()
            view = by_name(writer.view())
            name = view.names.name_decided(decision)
            return next(each for each in view.projects() if each.name == name)
