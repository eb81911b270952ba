# Written by `python -m tools.stubs` from `doctor.py`: methods that other modules patch on are here, too
"""`learnloop doctor` shows versions, devices, processes and extras, and tries what each training does"""



__all__ = ['doctor']

def doctor() -> bool:
    """Show versions, devices, processes and extras, and try to train, save, resume, load and log

    Returns: Did all checks pass?
    """
